// SPDX-License-Identifier: Apache-2.0
// Sends gravity plus Coriolis torques of one joint state as effort commands, and nothing while they are old.
//
//   ros2 run torque_listener_cpp torque_listener --ros-args -r torque_listener/commands:=effort_controller/commands
//
// For a simulator that adds no gravity itself. A real Franka does: these commands would lift its arm.

#include <cmath>
#include <memory>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

using sensor_msgs::msg::JointState;
using std_msgs::msg::Float64MultiArray;

class TorqueListener : public rclcpp::Node
{
public:
  TorqueListener()
  : Node("torque_listener")
  {
    stale_ = rclcpp::Duration::from_seconds(declare_parameter("stale_timeout_s", 0.02));
    commands_ = create_publisher<Float64MultiArray>("~/commands", 1);
    joint_states_ = create_subscription<JointState>(
      "joint_states", rclcpp::SensorDataQoS().keep_last(1),
      [this](JointState::ConstSharedPtr message) {on_joint_state(*message);});
    gravity_ = create_subscription<JointState>(
      "panda_dynamics/gravity_torques", rclcpp::SensorDataQoS().keep_last(1),
      [this](JointState::ConstSharedPtr message) {last_gravity_ = message;});
    coriolis_ = create_subscription<JointState>(
      "panda_dynamics/coriolis_torques", rclcpp::SensorDataQoS().keep_last(1),
      [this](JointState::ConstSharedPtr message) {last_coriolis_ = message;});
  }

private:
  void on_joint_state(const JointState & now)
  {
    if (!last_gravity_) {
      return;
    }
    // The torques' stamp is that of the joint state that they belong to: how old they are needs no clock.
    const rclcpp::Duration age = rclcpp::Time(now.header.stamp) - rclcpp::Time(last_gravity_->header.stamp);
    if (std::abs(age.seconds()) > stale_.seconds()) {  // negative where a simulator's time begins anew
      RCLCPP_ERROR_THROTTLE(
        get_logger(), *get_clock(), 1000, "torques are %.0f ms old: nothing is sent", 1e3 * age.seconds());
      return;
    }
    Float64MultiArray command;
    command.data.assign(last_gravity_->effort.begin(), last_gravity_->effort.end());
    if (last_coriolis_ && last_coriolis_->header.stamp == last_gravity_->header.stamp) {
      for (std::size_t i = 0; i < command.data.size(); ++i) {
        command.data[i] += last_coriolis_->effort[i];
      }
    }
    commands_->publish(command);
  }

  rclcpp::Duration stale_{0, 0};
  JointState::ConstSharedPtr last_gravity_, last_coriolis_;
  rclcpp::Publisher<Float64MultiArray>::SharedPtr commands_;
  rclcpp::Subscription<JointState>::SharedPtr joint_states_, gravity_, coriolis_;
};

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<TorqueListener>());
  rclcpp::shutdown();
  return 0;
}
